"""What is learned from and measured on."""
