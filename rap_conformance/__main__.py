"""`python -m rap_conformance`: the same as the command `rap-conformance`."""

from rap_conformance.start import main

if __name__ == "__main__":
    main()
