// Package responses speaks OpenAI's Responses API, which its reasoning models
// want.
//
// Nothing of a conversation is left with the server ("store" is false). What a
// model thought comes encrypted and goes back as it came, to the same model
// only: a thinking part's signature is the whole reasoning item as JSON, a text
// part's the id and the phase of its message, as {"v":1,"id":…,"phase":…}, and a
// tool call's thought signature the id of its item, beside its own call id. To
// another model, or if an answer broke off, the same parts go without them.
package responses
