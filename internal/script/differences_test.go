package script

// differences are all that is known, each with its reason. One that no longer differs fails the test.
var differences = []difference{
	{"abort", "listener options", "Node 20 does not remove a capturing listener that is named by a boolean"},
	{"abort", "event fields", "Node 20 has no constants on Event.prototype"},
	{"abort", "dispatch again", "Node 20 throws an error of its own; the standard an InvalidStateError"},
	{"body", "multipart \"--B\\nX-Other", "Node 20 refuses a value that looks like a boundary but does not begin after a line end"},
	{"clone", "clone 37 DOMException", "Node 20 makes a plain object of a DOMException; the standard makes one of the same kind"},
	{"clone", "clone 44 ", "the engine has no way to tell a Proxy from its target"},
	{"clone", "transfer a plain object", "Node 20 throws a TypeError; the standard a DataCloneError"},
	{"crypto", "export forbidden", "Node 20 misspells the name of InvalidAccessError"},
	{"crypto", "iv of 1", "OpenSSL refuses an iv of one byte; the standard does not"},
	{"crypto", "iv of 8", "Node 20 refuses it; the standard does not"},
	{"encoding", "label \"", "only UTF-8, UTF-16 and windows-1252 are here: tables of other encodings are not worth their size"},
	{"encoding", "decode windows-1252 ", "Node 20 takes windows-1252 for Latin-1; the standard does not"},
	{"streams", "close twice", "Node 20 throws where the standard gives a rejected promise"},
	{"streams", "tags", "Node 20 has no names for the streams of text"},
	{"url", "resolve \"x?y#z\" on mailto:", "Node 20 resolves on an address without a hierarchy; the standard does not"},
	{"url", "random \"ws://@:é@@é.2a=#", "the URL library refuses = in a host that is not ASCII"},
	{"url", "query of null", "Node 20 takes null for no query; the standard for the text"},
}
