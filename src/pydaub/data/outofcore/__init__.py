"""How is data larger than memory prepared? Only `prepare_out_of_core` needs these modules."""
