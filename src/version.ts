// Parley's own version, as it tells other programs. A test compares it with package.json.

export const VERSION = '0.1.0';
