"""What the Reactive Agent Protocol says, without I/O: messages, what bytes mean, a call's life, presence."""
