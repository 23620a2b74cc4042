"""Runs against a runtime: the suite plays the tool servers, an adapter drives the runtime.

`rap-conformance runtime --adapter-cmd "… {port}"`; the contract with adapters is in
docs/certify-a-runtime.md, their bodies in schemas/adapter/.
"""
