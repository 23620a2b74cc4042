"""The folder schemas/ as one registry that retrieves nothing: look up, validate, explain.

A `Contract` is what the suite knows of messages. Change a schema and what is
accepted, generated and described changes with it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable

from rap_conformance.contract.document import assemble
from rap_conformance.contract.sentences import sentence
from rap_conformance.places import place

GENERATED = "openapi.json"
REPORT = "report"
STATUS_REQUEST = "tool_call_status_request"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MOST_PROBLEMS = 20
_UNSHOWABLE = (RecursionError, ValueError)  # jsonschema puts the value into each error's text


class ContractError(ValueError):
    """A schema is damaged or missing; the message names it."""


def _name(path: Path) -> str:
    return path.name.removesuffix(".json").removesuffix(".schema")


class Contract:
    """The schemas of one folder, by name: "toolset" for toolset.json, "report" for report.schema.json."""

    def __init__(self, folder: Path) -> None:
        """Read every schema of the folder.

        Raises ContractError if one is no JSON, or its `$id` or `$schema` is missing or another.
        """
        self._schemas: dict[str, dict[str, Any]] = {}
        for path in sorted(folder.glob("*.json")):
            if path.name == GENERATED:
                continue
            try:
                self._schemas[_name(path)] = document = json.loads(path.read_text("utf-8"))
                if not document["$id"].endswith(f"/{path.name}"):
                    raise ValueError(f"$id must end in the file's name, got {document['$id']!r}")
                if document["$schema"] != _DIALECT:
                    raise ValueError(f"$schema must be {_DIALECT}, got {document['$schema']!r}")
            except (ValueError, TypeError, KeyError) as error:
                raise ContractError(f"{path.name}: {error}") from error
        self.registry: Registry[Any] = Registry().with_resources(
            (document["$id"], Resource.from_contents(document)) for document in self._schemas.values()
        )
        self._validators: dict[str, Draft202012Validator] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all schemas, in order."""
        return tuple(self._schemas)

    def schema(self, name: str) -> dict[str, Any]:
        """A copy of one schema. Raises ContractError if there is none of that name."""
        return copy.deepcopy(self._schema(name))

    def _schema(self, name: str) -> dict[str, Any]:
        if name not in self._schemas:
            raise ContractError(f"no schema is called {name!r}; there are {', '.join(self._schemas)}")
        return self._schemas[name]

    def validator(self, name: str) -> Draft202012Validator:
        """The validator of one schema; a reference out of the folder raises instead of being fetched."""
        if name not in self._validators:
            self._validators[name] = Draft202012Validator(self._schema(name), registry=self.registry)
        return self._validators[name]

    def valid(self, name: str, value: Any) -> bool:
        """Whether a value conforms to the schema of that name."""
        try:
            return bool(self.validator(name).is_valid(value))
        except _UNSHOWABLE:
            return False

    def problems(self, name: str, value: Any) -> list[str]:
        """What is wrong with a value, a sentence each, at most twenty; empty if nothing is.

        Text from the value is shown in ASCII and cut at 80 characters, so
        the sentences are safe wherever text is.
        """
        found: dict[str, None] = {}
        try:
            for error in self.validator(name).iter_errors(value):
                found[sentence(error)] = None
                if len(found) == _MOST_PROBLEMS:
                    break
        except _UNSHOWABLE:
            found["$: nested too deeply, or a number too long, to be judged"] = None
        return list(found)

    def properties(self, name: str) -> Mapping[str, dict[str, Any]]:
        """The declared members of a message, each with its references followed."""
        document = self._schema(name)
        resolver = self.registry.resolver(document["$id"])
        found: dict[str, dict[str, Any]] = {}
        for member, declared in document.get("properties", {}).items():
            schema = dict(declared)
            here = resolver
            while "$ref" in schema:
                try:
                    resolved = here.lookup(schema.pop("$ref"))
                except Unresolvable as error:
                    raise ContractError(f"{name}: {member}: {error}") from error
                here, schema = resolved.resolver, {**resolved.contents, **schema}
            found[member] = schema
        return found

    @cached_property
    def _openapi(self) -> dict[str, Any]:
        return assemble(self)

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI 3.1 description of a tool server, made from the schemas; a copy."""
        return copy.deepcopy(self._openapi)

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Names and schemas, in order of names."""
        return iter(self._schemas.items())


@cache
def contract() -> Contract:
    """The contract this suite ships."""
    return Contract(place("schemas"))


def schema(name: str) -> dict[str, Any]:
    """A copy of one shipped schema. Raises ContractError if there is none of that name."""
    return contract().schema(name)


def validator(name: str) -> Draft202012Validator:
    """The validator of one shipped schema; it retrieves nothing."""
    return contract().validator(name)


def problems(name: str, value: Any) -> list[str]:
    """What is wrong with a value by a shipped schema; see `Contract.problems`."""
    return contract().problems(name, value)


def openapi() -> dict[str, Any]:
    """The OpenAPI 3.1 description of a RAP tool server, bundled; a copy."""
    return contract().openapi()
