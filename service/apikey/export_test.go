package apikey

// Parse reads the public part of a key.
func Parse(value string) (string, bool) { return parse(value) }

// Sealed is a text with the checksum of a key.
func Sealed(text string) string { return text + checksum(text) }
