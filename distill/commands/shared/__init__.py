"""What commands share: their options, and how they show help and tell that they are at work."""
