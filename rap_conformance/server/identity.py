"""Who the suite is to a server: credentials made of the configuration, and what in them is secret."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

from rap_conformance.engine.inputs import ConfigError
from rap_conformance.network import certificates
from rap_conformance.network.credentials import Credentials
from rap_conformance.network.sources import Sources
from rap_conformance.protocol.secrets import pieces
from rap_conformance.server.config import Auth


def credentials_of(auth: Auth) -> Credentials:
    """What identifies us. Raises ConfigError if the AWS sources have no credentials."""
    signer = None
    if auth.sigv4 is not None:
        from rap_conformance.network import sigv4

        try:
            signer = sigv4.signer(auth.sigv4.service, auth.sigv4.region)
        except sigv4.NoAwsCredentials as missing:
            raise ConfigError(str(missing)) from None
    headers = tuple((name, secret.reveal()) for name, secret in auth.headers)
    signing = f"aws:amz:{auth.sigv4.region}:{auth.sigv4.service}" if auth.sigv4 else ""
    certificate = auth.tls(certificate=True) if auth.client_cert else None
    return Credentials(headers, signer, certificate, signing, auth.files)


def sources_of(auth: Auth) -> Sources:
    """Where the secrets of both identities come from."""
    sources = Sources()
    for identity in filter(None, (auth, auth.other)):
        for name, secret in identity.headers:
            sources.learn(name, secret.reveal(), secret.variable)
    return sources


def self_made(auth: Auth) -> ssl.SSLContext | None:
    """TLS with a client certificate that bears our names, and for which nobody vouches.

    None if we present none, or none can be made (without cryptography, the extra `mtls`).
    """
    if auth.client_cert is None:
        return None
    context = auth.tls(certificate=False) or ssl.create_default_context()
    try:
        certificates.self_made(auth.client_cert, context)
    except (ImportError, OSError):
        return None
    return context


def secrets_of(credentials: Credentials) -> Iterator[tuple[str, str]]:
    """What no answer may give back, and in words what it is. What looks like no secret is none."""
    for piece in pieces(credentials.headers):
        if not piece.telling:
            continue
        yield piece.secret, f"our own credential ({piece.title})"
        if (basic := piece.basic) is not None:
            password = basic.partition(b":")[2].decode("utf-8", "replace")
            if len(password) >= 8:
                yield password, f"our own password ({piece.title})"
