"""The boost inside the training loops of other libraries, one module a library; none is imported unless asked for."""
