"""The data that encoders learn from and are measured on."""
