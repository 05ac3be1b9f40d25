package memory

// Available is the memory of a machine whose files lie below a root.
var Available = available
