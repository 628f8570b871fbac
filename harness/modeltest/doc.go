// Package modeltest has model servers for tests: they speak the providers' real
// protocols over HTTP, refuse what the real ones refuse, in their words, and
// otherwise play a script.
//
//	s := modeltest.NewAnthropic(t,
//		modeltest.Turn{Calls: []modeltest.Call{{ID: "toolu_1", Name: "bash", Arguments: `{"command":"ls"}`}}},
//		modeltest.Turn{Text: "Two files."},
//	)
//	provider := anthropic.New(anthropic.Options{BaseURL: s.URL, Key: "k", Client: protocol.NewClient()})
//
// Each request takes the next turn of the script; one that breaks a rule of the
// protocol is answered with the provider's own refusal, is noted in
// [Server.Refusals], and takes none. A [Split] cuts the stream in unlucky
// places.
package modeltest
