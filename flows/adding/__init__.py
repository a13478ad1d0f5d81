"""Create entries of params.yaml for `benchloom add`; each entry is tested before it is written."""
