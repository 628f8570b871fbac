package modeltest

import "net/http"

// Terms are what a server holds requests against beside the rules of its
// protocol.
type Terms struct {
	MaxTokens int  // the longest answer that the model gives; 0: any
	TextOnly  bool // the model takes no images
	// Foreign lets pass signatures of thinking that the server has not made
	// itself, for histories that a test makes up.
	Foreign bool
}

// refusal is why a request is not answered.
type refusal struct {
	status int
	text   string
}

// refuse looks at a request as the protocol's server does. An empty text means
// that nothing is wrong with it.
func (t Terms) refuse(p protocol, body []byte) refusal {
	if limit, text := p.maxBody(); len(body) > limit {
		return refusal{http.StatusRequestEntityTooLarge, text}
	}
	return refusal{http.StatusBadRequest, p.check(body, t)}
}
