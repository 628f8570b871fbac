// Package picture makes images fit for models. What comes in is hostile: a file
// may lie about its type, be torn, or swell to gigabytes when it is decoded.
//
// [Fit] decodes an image wholly, once, when it enters a history, and scales it
// down to what a model looks at. [Check] looks at one that is in a history
// already, at little cost.
package picture
