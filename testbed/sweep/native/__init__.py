"""The static pass, compiled: tables read, instructions decoded, rows held against what the instructions do."""
