package gateway

// OpenStreams is how many streams are open here.
func (g *Gateway) OpenStreams() int { return g.streams.Count() }
