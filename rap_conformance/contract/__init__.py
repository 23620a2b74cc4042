"""What messages look like: schemas/ as one registry that validates, describes and generates.

Light to import. The generators load Hypothesis and Schemathesis on first use.
"""

from rap_conformance.contract.arguments import minimal_arguments
from rap_conformance.contract.malformed import coverage_cases, malformed_bodies, names_fields
from rap_conformance.contract.queries import hostile_queries, ordinary_queries
from rap_conformance.contract.schemas import (
    Contract,
    ContractError,
    contract,
    openapi,
    problems,
    schema,
    validator,
)
from rap_conformance.contract.shrink import smallest
from rap_conformance.contract.untrusted import SchemaJudgement, schema_problem
from rap_conformance.protocol.payloads import Malformed

__all__ = [
    "Contract",
    "ContractError",
    "Malformed",
    "SchemaJudgement",
    "contract",
    "coverage_cases",
    "hostile_queries",
    "malformed_bodies",
    "minimal_arguments",
    "names_fields",
    "openapi",
    "ordinary_queries",
    "problems",
    "schema",
    "schema_problem",
    "smallest",
    "validator",
]
