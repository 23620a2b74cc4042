"""Does a text tell a model that something failed? No I/O.

Nobody can decide that for every text, so this errs on the side of the runtime: one word of failure, in one of
the larger languages, is enough, and what is not in Latin letters is left to its reader.
"""

from __future__ import annotations

import re
import unicodedata

_HARMLESS = re.compile(r"\b(no|not|without|zero|0) (an |any )?(errors?|failures?|problems?)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_BORDER = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Within words such as isError."""
_WORDS = frozenset(
    "no not never nothing t gone lost lose loses loss dead died dies down stale over ended ends stopped "
    "closed again retry retried giving gave give unable cannot without out broken bad "
    "nicht nie kein keine erneut pas aucun perdu perdue perte sin nunca nao sem non nessun perso persa niet "
    "geen fout verloren kwijt nie utracone hata kayip degil".split()
)
_BEGINNINGS = tuple(
    "error fail fault abandon abort cancel drop orphan expire timeout timed unavail unknown unreach "
    "interrupt crash restart vanish missing disappear terminat disconnect discard inactive invalid reject "
    "unsupported untracked incomplete unfinish resubscri exception unexpected problem unsuccess prun forgot "
    "forget defunct lapse unanswer unrecover "
    "fehl abgebroch gescheit verlor erreur echec echou perdid indispon fallo fallid falh perdeu erro "
    "fallit mislukt verbroken blad niepow basarisiz".split()
)
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")


def tells_of_failure(text: str) -> bool | None:
    """Whether a model can see from this that a call failed or a subscription is lost; None: nobody knows."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    spaced = _BORDER.sub(" ", _HARMLESS.sub(" ", plain)).lower()
    words = _WORD.findall(spaced)
    if any(word in _WORDS or word.startswith(_BEGINNINGS) for word in words):
        return True
    foreign = any(character.isalpha() and not _LATIN.match(character) for character in text)
    return None if foreign else False
