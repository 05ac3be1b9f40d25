//go:build race

package httpapi_test

func init() { raced = true }
