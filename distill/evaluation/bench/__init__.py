"""Time, memory and size of encoders, each measured in a process of its own."""
