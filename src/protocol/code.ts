// The error codes MCP defines besides JSON-RPC's own (basic/index, "Error Codes").

export const mcpCode = {
  /** 2026-07-28: HTTP headers and body differ, or a required header is missing. */
  headerMismatch: -32020,
  /** 2026-07-28: the client did not declare a capability the request needs. */
  missingCapability: -32021,
  /** 2026-07-28: the requested revision is not spoken; `data.supported` lists those that are. */
  unsupportedVersion: -32022,
  /** Up to 2025-11-25: resource not found; read, never sent to modern clients. */
  resourceNotFound: -32002,
  /** 2025-11-25 only: the client must visit URLs before it calls again. */
  urlElicitationRequired: -32042,
} as const;

/** True for the codes only a modern server answers with. */
export function isModernCode(code: number): boolean {
  return code === mcpCode.headerMismatch || code === mcpCode.missingCapability || code === mcpCode.unsupportedVersion;
}
