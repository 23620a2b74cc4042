"""The schemas as an OpenAPI 3.1 description of a tool server, bundled into one document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from rap_conformance.protocol.messages import MANIFEST_PATH, STATUS_PATH

_DESCRIPTION = (
    "What a tool server of the Reactive Agent Protocol offers to a runtime, and what it sends back. "
    "Generated from the JSON Schemas beside this file by `python -m rap_conformance.contract`: change those. "
    "Paths are relative to the server's base URL. `/invoke` stands for the `endpoint` of the manifest, "
    "wherever that is. Authentication between runtime and server is not prescribed and left out here."
)
_OPERATIONS: dict[tuple[str, str], dict[str, Any]] = {
    (MANIFEST_PATH, "get"): {
        "operationId": "discover",
        "summary": "The toolset manifest",
        "answer": "toolset",
    },
    ("/invoke", "post"): {
        "operationId": "invoke",
        "summary": "Have an operation run; acknowledged at once, the result goes to the callback URL",
        "request": "tool_invocation",
    },
    (STATUS_PATH, "post"): {
        "operationId": "tool_call_status",
        "summary": "Whether a call is still alive (2026-07-pr62)",
        "request": "tool_call_status_request",
        "answer": "tool_call_status_response",
    },
    ("/cancel_tool_call", "post"): {
        "operationId": "cancel_tool_call",
        "summary": "A call is no longer wanted; advisory",
        "request": "cancel_tool_call",
    },
    ("/close_thread", "post"): {
        "operationId": "close_thread",
        "summary": "A conversation thread gets no further invocations; advisory",
        "request": "close_thread",
    },
    ("/migrate", "post"): {
        "operationId": "migrate",
        "summary": "Move a session's state to another server; only where the manifest says needsMigration",
        "request": "migrate",
    },
}
_CALLBACKS = {
    "tool_result": ("tool_result", "tool_result_main"),
    "subscription_event": ("subscription_event",),
    "oauth": ("oauth",),
    "user_choice": ("user_choice",),
    "view_update": ("view_update",),
}


class Schemas(Protocol):
    """What a description is made of: the schemas by their names."""

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Names and schemas."""

    def properties(self, name: str) -> Mapping[str, dict[str, Any]]:
        """The declared members of a message."""

    def openapi(self) -> dict[str, Any]:
        """The description made of them; a copy."""


def _component(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _media(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _bundled(node: Any, name: str) -> Any:
    """A schema as a component: references lead into the document, `$id` and `$schema` are gone."""
    if isinstance(node, list):
        return [_bundled(item, name) for item in node]
    if not isinstance(node, dict):
        return node
    found = {key: _bundled(value, name) for key, value in node.items() if key not in {"$id", "$schema"}}
    if isinstance(reference := node.get("$ref"), str):
        file, _, pointer = reference.partition("#")
        found["$ref"] = f"#/components/schemas/{file.removesuffix('.json') or name}{pointer}"
    return found


def _operation(entry: dict[str, Any]) -> dict[str, Any]:
    operation = {key: entry[key] for key in ("operationId", "summary")}
    if "request" in entry:
        operation["requestBody"] = {"required": True, "content": _media(_component(entry["request"]))}
    done: dict[str, Any] = {"description": "Acknowledged; nobody reads the body."}
    if "answer" in entry:
        done = {"description": "The answer.", "content": _media(_component(entry["answer"]))}
    operation["responses"] = {"200": done, "4XX": {"description": "Refused."}}
    return operation


def _callback(kind: str, schemas: tuple[str, ...]) -> dict[str, Any]:
    body = _component(schemas[0]) if len(schemas) == 1 else {"anyOf": [_component(name) for name in schemas]}
    post: dict[str, Any] = {
        "summary": f"The server sends a message of type {kind}",
        "requestBody": {"required": True, "content": _media(body)},
        "responses": {
            "200": {"description": "Received."},
            "4XX": {"description": "Rejected: not sent again."},
            "5XX": {"description": "Failed: sent again later."},
        },
    }
    if kind == "user_choice":
        answer = {"operationId": "user_choice_response", "summary": "The runtime sends the user's selection"}
        post["callbacks"] = {
            "user_choice_response": {
                "{$request.body#/response_url}": {
                    "post": _operation({**answer, "request": "user_choice_response"}),
                },
            },
        }
    return {"{$request.body#/callback_url}": {"post": post}}


def assemble(contract: Schemas) -> dict[str, Any]:
    """The whole description, from the schemas of a contract (all but that of reports)."""
    paths: dict[str, Any] = {}
    for (path, method), entry in _OPERATIONS.items():
        paths[path] = {method: _operation(entry)}
    paths["/invoke"]["post"]["callbacks"] = {
        kind: _callback(kind, names) for kind, names in _CALLBACKS.items()
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "RAP tool server",
            "version": "2026-07-pr62",
            "description": _DESCRIPTION,
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "servers": [{"url": "http://127.0.0.1:3001", "description": "A server under test."}],
        "paths": paths,
        "components": {
            "schemas": {name: _bundled(schema, name) for name, schema in contract if name != "report"},
        },
    }


def for_generation(contract: Schemas, identifier: dict[str, Any] | None) -> dict[str, Any]:
    """The description cut down to the status operation, for generators.

    With `identifier`, every member that is a string is narrowed to that schema
    and others are not added: what is generated is an ordinary query.
    """
    document = contract.openapi()
    document["paths"] = {STATUS_PATH: document["paths"][STATUS_PATH]}
    if identifier is not None:
        request = document["components"]["schemas"]["tool_call_status_request"]
        for name, schema in contract.properties("tool_call_status_request").items():
            if schema.get("type") == "string":
                request["properties"][name] = identifier
        request["additionalProperties"] = False
    return document


def as_text(document: dict[str, Any]) -> str:
    """The document as it is checked in: JSON, indented, ASCII."""
    return json.dumps(document, indent=2) + "\n"
