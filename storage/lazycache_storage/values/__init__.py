"""Values to payloads and back: plain data, and pickles with arrays taken out of them."""
