return {
  cmd = { "adl", "lsp" },
  filetypes = { "adl" },
  root_markers = { ".git" },
}
