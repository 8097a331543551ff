"""Make submissions again on data that did not exist when they were written, and grade them."""
