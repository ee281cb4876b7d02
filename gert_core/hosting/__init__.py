"""What programs that use gert as a library ask besides running: where runs stand, and what they did."""
