"""What real unwinders share: processes that they run in, and copies of files that they get."""
