"""Android's libunwindstack."""
