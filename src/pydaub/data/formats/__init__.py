"""How is a file read? One module per format."""
