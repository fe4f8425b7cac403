"""Where pretrained encoders come from, one file a source."""
