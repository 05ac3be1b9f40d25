package cli

// FilesPath is where the service is asked for what somebody typed.
func FilesPath(text string) (string, error) {
	a, err := parseAddress(text)
	return a.files(), err
}
