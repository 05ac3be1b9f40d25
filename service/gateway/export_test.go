package gateway

import (
	"context"
	"strings"
	"time"

	"svc.dev/svc/service/access"
	"svc.dev/svc/service/operation"
)

// Line is a route of the table, as tests look at it.
type Line struct {
	Method   string
	Path     string
	Surfaces []Surface
	Need     access.Need
	Keeps    bool // what it does can be asked for again by an Idempotency-Key
}

// Lines are the whole table.
func Lines() []Line {
	var all []Line
	for _, r := range routes {
		all = append(all, Line{r.Method, strings.ReplaceAll(r.Path, "...}", "}"), r.On, r.Need, (&line{route: r}).keeps()})
	}
	return all
}

// TakesDelivery reports whether one more delivery from a network, a common or a long one, would be read at once.
func (g *Gateway) TakesDelivery(network string, long bool) bool {
	turns := g.commonDeliveries
	if long {
		turns = g.longDeliveries
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	done, err := turns.Wait(ctx, network)
	if err == nil {
		done()
	}
	return err == nil
}

// StatusOf is the status of a type of refusal; zero is none.
func StatusOf(typ string) int {
	status, _ := operation.StatusOf(typ)
	return status
}

// Shapes are the paths below {base_url}.
func Shapes() []string {
	var all []string
	for _, s := range shapes {
		all = append(all, s.pattern)
	}
	return all
}
