-- nvim --headless -u NONE FILE -c "luafile lsp_nvim.lua": a session of a real editor with $TILEC lsp; what it sees goes to
-- $TILEC_OUT, a line each.
local out, wait = {}, 20000
local buffer = vim.api.nvim_get_current_buf()
local client = vim.lsp.start_client({ name = "tilec", cmd = { vim.env.TILEC, "lsp" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(buffer, client)
vim.wait(wait, function()
  local c = vim.lsp.get_client_by_id(client)
  return c and c.initialized
end)

local function ask(method, line, character, more)
  vim.api.nvim_win_set_cursor(0, { line, character })
  local params = vim.tbl_extend("force", vim.lsp.util.make_position_params(), more or {})
  return vim.lsp.buf_request_sync(buffer, "textDocument/" .. method, params, wait)[client].result
end

local function see(name, value)
  table.insert(out, name .. " " .. value)
end

local definition = ask("definition", 6, 18)
see("definition", vim.fn.fnamemodify(definition.uri, ":t") .. ":" .. definition.range.start.line + 1)
see("hover", vim.split(ask("hover", 5, 5).contents.value, "\n")[2])
vim.lsp.util.apply_workspace_edit(ask("rename", 5, 5, { newName = "index" }), "utf-16")
see("renamed", vim.api.nvim_buf_get_lines(buffer, 5, 6, false)[1])
vim.api.nvim_buf_set_lines(buffer, 5, 6, false, { "    store(x + index, twce(load(x + index)))" })
vim.wait(wait, function()
  return #vim.diagnostic.get(buffer) > 0
end)
for _, d in ipairs(vim.diagnostic.get(buffer)) do
  see("diagnostic", (d.lnum + 1) .. ": " .. d.message:gsub("\n", " "))
end
vim.fn.writefile(out, vim.env.TILEC_OUT)
vim.cmd("qa!")
