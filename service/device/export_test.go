package device

// NewUserCode is a code that people type.
var NewUserCode = newUserCode
