"""A client certificate that bears our names, and for which nobody vouches.

The extra `mtls` brings cryptography, which makes it.
"""

from __future__ import annotations

import contextlib
import datetime
import ssl
import tempfile
from pathlib import Path


def self_made(like: Path, context: ssl.SSLContext) -> None:
    """Make `context` present a new certificate with the names of another one, signed by its own key.

    `like` is the other one's PEM file. Raises ImportError without cryptography, OSError if the file or the
    certificate is unusable.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        known = x509.load_pem_x509_certificate(like.read_bytes())
    except ValueError as error:
        raise OSError(f"{like.name} holds no certificate: {error}") from error
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(known.subject)
        .issuer_name(known.issuer)
        .public_key(key.public_key())
        .serial_number(known.serial_number)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
    )
    with contextlib.suppress(x509.ExtensionNotFound):
        names = known.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        builder = builder.add_extension(names.value, names.critical)
    certificate = builder.sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    with tempfile.TemporaryDirectory(prefix="rapc-certificate-") as folder:
        file = Path(folder, "self-made.pem")
        file.touch(mode=0o600)
        file.write_bytes(secret + certificate.public_bytes(pem))
        context.load_cert_chain(file)
