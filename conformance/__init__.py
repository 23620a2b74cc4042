"""What is asserted of a RAP peer: the catalogue of requirements and the scenarios that judge them."""
