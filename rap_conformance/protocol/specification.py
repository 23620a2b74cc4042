"""The Reactive Agent Protocol as a specification to judge by: revisions, roles, needs, and the catalogue."""

from __future__ import annotations

from functools import cache

from rap_conformance.engine.catalogue import Catalogue, Specification, load
from rap_conformance.places import place

CATALOGUE_VERSION = "0.1"
FIRST_VERSION = "0.1"
REVISIONS = ("2026-07-pr62", "2026-08-main")
DEFAULT_REVISION = REVISIONS[0]
COMMITS = {
    "2026-07-pr62": "bb01dcc6fde42b2a09f55736a3bebf88d8a883d6",
    "2026-08-main": "9c921fde280b50c89c3e5b9caadccf83a46078a4",
}
"""The commit of hydro-project/infinity at which a revision stands."""

NEEDS = {
    "manifest": "discovery gives a manifest",
    "status": "the status endpoint is there",
    "auth": "credentials are given",
    "pending": "a tool that stays pending some seconds",
    "quick": "a harmless tool that ends at once",
    "sub": "a subscription tool",
    "final": "a subscription that ends by itself (`final_arguments`)",
    "choice": "a tool that asks the user to choose",
    "oauth": "a tool that asks for authorization",
    "view": "a tool that sends view updates",
    "op": "permission to invoke an operation that does not exist (any `--invoke` but `none`)",
    "control": "the suite starts the server itself (`--server-cmd`)",
    "other": "a second identity (`[auth.other]`)",
    "prefix": "a base URL with a path prefix",
}
"""What a requirement may need, in words; what lacks is decided by the session of the role."""


def page(revision: str, section: str) -> str:
    """Where to read a section, such as "basic/toolsets.md#tool-names", at a revision."""
    root = f"https://github.com/hydro-project/infinity/blob/{COMMITS[revision]}/docs/docs/rap/spec/"
    return root + section


RAP = Specification(
    name="RAP",
    version=CATALOGUE_VERSION,
    first=FIRST_VERSION,
    revisions=REVISIONS,
    roles=("server", "runtime"),
    needs=NEEDS,
    page=page,
)


@cache
def catalogue() -> Catalogue:
    """The catalogue this suite ships. Raises CatalogueError if its data is damaged."""
    return load(place("conformance") / "requirements", RAP)
