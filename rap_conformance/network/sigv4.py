"""Credentials by AWS Signature Version 4, made anew for each request (the extra `sigv4` brings botocore)."""

from __future__ import annotations

from rap_conformance.engine.evidence import Headers
from rap_conformance.network.credentials import Signer


class NoAwsCredentials(Exception):
    """None of the usual AWS sources has credentials; the message is one line."""


def signer(service: str, region: str) -> Signer:
    """A signer for one service and region. Raises NoAwsCredentials, ImportError without botocore."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.session import Session

    credentials = Session().get_credentials()
    if credentials is None:
        raise NoAwsCredentials(
            "auth.sigv4: none of the usual AWS sources has credentials; allowed: AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, a profile, or an instance's role"
        )
    frozen = credentials.get_frozen_credentials()

    def sign(method: str, url: str, body: bytes) -> Headers:
        request = AWSRequest(method=method, url=url, data=body)
        SigV4Auth(frozen, service, region).add_auth(request)
        return tuple((str(name), str(value)) for name, value in request.headers.items())

    return sign
