"""`python -m rap_conformance.detection`: is every fault caught, by its own requirement and no other?"""

import sys

from rap_conformance.detection.mutants import main

if __name__ == "__main__":
    sys.exit(main())
