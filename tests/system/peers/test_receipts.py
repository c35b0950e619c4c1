"""A receipt in the hands of strangers: securesystemslib's DSSE, in-toto's
statement, SLSA's provenance, with the public key alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf import json_format
from harness import Gateway, Session
from in_toto_attestation.predicates.provenance.v1 import provenance_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey


def test_strangers_tools_accept_a_receipt_and_find_a_change(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    session.exec("1 + 1")
    folder = tmp_path / "run"
    done = gateway.run("notebook", "attest", session.id, str(folder))
    assert done.returncode == 0, done.stderr
    about = gateway.json("notebook", "attest-key", "--json")
    key = SSlibKey.from_crypto(
        load_pem_public_key(about["pem"].encode()), keyid=about["key"]
    )
    receipt = json.loads((folder / "receipt.json").read_text())
    assert receipt["signatures"][0]["keyid"] == about["key"]
    envelope = Envelope.from_dict(receipt)
    assert list(envelope.verify([key], 1)) == [about["key"]]

    said = json_format.Parse(envelope.payload, statement_pb2.Statement())
    Statement.copy_from_pb(said).validate()
    provenance = json_format.ParseDict(
        json_format.MessageToDict(said.predicate), provenance_pb2.Provenance()
    )
    run = provenance.run_details
    assert run.metadata.invocation_id == session.id
    assert run.builder.id == f"urn:hearth:gateway:{about['key']}"

    envelope.payload = envelope.payload.replace(b"hearth-", b"hearth+", 1)
    with pytest.raises(VerificationError):
        envelope.verify([key], 1)
