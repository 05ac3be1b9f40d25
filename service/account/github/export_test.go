package github

// AppJWT is the proof that the bearer is the app.
func (c *Client) AppJWT(app App) (string, error) { return app.proof(c.now()) }

// ParseUser is what User makes of an answer.
var ParseUser = parseUser
