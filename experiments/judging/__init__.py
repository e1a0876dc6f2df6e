"""The judge: programs that nobody vouches for, against optima that they never see."""
