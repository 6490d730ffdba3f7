//! SGLang and vLLM over HTTP.
