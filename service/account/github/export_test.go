package github

// ParseUser is what User makes of an answer.
var ParseUser = parseUser
