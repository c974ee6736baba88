"""What sdks/generate.py writes; users find it in `carrel`."""
