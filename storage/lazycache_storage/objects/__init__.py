"""Objects: arrays as Zarr folders, and blobs, each named by its content."""
