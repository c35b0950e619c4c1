"""What hearth says of its interface is OpenAPI."""

from __future__ import annotations

import yaml
from openapi_spec_validator import validate
from web import Web


def test_the_document_is_valid(web: Web) -> None:
    validate(yaml.safe_load(web.get("/api/spec.yaml").body))
