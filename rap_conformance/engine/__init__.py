"""What any conformance suite needs, of whatever protocol: requirement, scenario, finding, run, verdict.

Nothing in here knows RAP, HTTP or pytest, and nothing in here imports anything of ours from outside it.
"""
