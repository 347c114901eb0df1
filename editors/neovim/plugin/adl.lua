if not vim.lsp.enable then
  return
end
vim.lsp.enable("adl")

local group = vim.api.nvim_create_augroup("adl", {})
vim.api.nvim_create_autocmd("LspAttach", {
  group = group,
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == "adl" then
      vim.lsp.inlay_hint.enable(true, { bufnr = event.buf })
      vim.lsp.codelens.refresh({ bufnr = event.buf })
      vim.api.nvim_create_autocmd({ "BufWritePost", "InsertLeave" }, {
        group = group,
        buffer = event.buf,
        callback = function() vim.lsp.codelens.refresh({ bufnr = event.buf }) end,
      })
    end
  end,
})

vim.api.nvim_create_user_command("AdlLens", function() vim.lsp.codelens.run() end, { desc = "Run the code lens of this line" })
